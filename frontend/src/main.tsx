import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { usePlace } from "./address";
import { Compare } from "./Compare";
import { Link } from "./Link";
import { Play } from "./Play";
import { Run } from "./Run";
import { Runs } from "./Runs";
import { useRuns } from "./server";

function App() {
  const { path } = usePlace();
  return path === "/play" ? <Frame note=""><Play /></Frame> : <Watching path={path} />;
}

function Watching({ path }: { path: string }) {
  const { runs, live } = useRuns();
  const found = path.match(/^\/run\/([^/]+)$/);
  const name = found ? decodeURIComponent(found[1]) : "";
  useEffect(() => {
    document.title = name ? `${name} · Hogwild` : path === "/compare" ? "Compare · Hogwild" : "Hogwild";
  }, [name, path]);
  return (
    <Frame note={live ? "live" : "not connected"}>
      {name ? <Run key={name} name={name} runs={runs} /> : path === "/compare" ? <Compare runs={runs} /> : path === "/" ? <Runs runs={runs} /> : <Nothing />}
    </Frame>
  );
}

function Nothing() {
  return (
    <>
      <h1>There is nothing here</h1>
      <p><Link to="/">All runs</Link></p>
    </>
  );
}

function Frame({ children, note }: { children: preact.ComponentChildren; note: string }) {
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        <Link to="/" class="brand">Hogwild</Link>
        {note && <span class={`note ${note === "live" ? "on" : ""}`} role="status">{note}</span>}
        <Theme />
      </header>
      <main id="main">{children}</main>
    </>
  );
}

/** Light, dark, or as the system has it; kept for the next visit. */
function Theme() {
  const [theme, set] = useState(() => localStorage.getItem("theme") ?? "system");
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  return (
    <label class="theme">
      <span class="hidden">theme</span>
      <select value={theme} onChange={(e) => set(e.currentTarget.value)}>
        {["system", "light", "dark"].map((each) => <option key={each}>{each}</option>)}
      </select>
    </label>
  );
}

render(<App />, document.getElementById("app")!);
