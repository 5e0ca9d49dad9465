import type { ComponentChildren } from "preact";
import { go } from "./address";

interface Props {
  to: string;
  children: ComponentChildren;
  class?: string;
  "aria-current"?: "page";
}

/** A link within the page. */
export function Link({ to, children, ...rest }: Props) {
  const click = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(to);
    scrollTo(0, 0);
  };
  return (
    <a href={to} onClick={click} {...rest}>
      {children}
    </a>
  );
}
