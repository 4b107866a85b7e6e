/* SPDX-License-Identifier: GPL-2.0-or-later */
import { createHash } from "node:crypto";
import { defineConfig } from "vite";

// One file: script and style go into the page, and a policy that allows exactly these two, by their hash, and no network.
function oneFile() {
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const page = files.find((file) => file.fileName === "index.html");
      const script = files.find((file) => file.type === "chunk").code.trim().replaceAll("</script", "<\\/script");
      const style = String(files.find((file) => file.fileName.endsWith(".css")).source).trim();
      const policy = [
        "default-src 'none'",
        `script-src ${hash(script)}`,
        `style-src ${hash(style)}`,
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");

      // Functions, since a script may contain "$&".
      page.source = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace(/<meta charset="utf-8">/, (meta) => `${meta}\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
        .replace("</head>", () => `<style>${style}</style>\n</head>`)
        .replace("</body>", () => `<script>${script}</script>\n</body>`);
      for (const file of files) if (file !== page) delete bundle[file.fileName];
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: { output: { format: "iife", inlineDynamicImports: true } },
  },
});
