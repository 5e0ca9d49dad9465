import { defineConfig } from "vite";

// The built files are part of the Python package; their names do not change, so that a rebuild can be compared.
export default defineConfig({
  build: {
    outDir: "../hogwild/dashboard/static",
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: { entryFileNames: "assets/app.js", assetFileNames: "assets/[name][extname]" },
    },
  },
  // While working on the page: `hogwild dashboard --port 8300` beside `npx vite`.
  server: { proxy: { "/api": { target: "http://localhost:8300", changeOrigin: false } } },
});
