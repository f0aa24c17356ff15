// Fixes of GraphiQL that neither its properties nor a style sheet can make. The build fails if a patched place
// has changed in a new version, so that the patch is reviewed.
const REACT = '@graphiql/react/dist';

/** @type {readonly { file: string, replace: readonly (readonly [string, string])[] }[]} */
const PATCHES = [
  {
    // A tab must not contain buttons (ARIA 1.2 §5.2.8), and these contain two. List items may.
    file: `${REACT}/components/tabs/index.js`,
    replace: [
      ['"aria-selected": isActive,', ''],
      ['role: "tab",', ''],
      ['role: "tablist",', 'role: "list",'],
    ],
  },
  {
    file: 'graphiql/dist/GraphiQL.js',
    replace: [
      [
        'jsx(Tab.Button, {',
        'jsx(Tab.Button, { "aria-current": index_1 === activeTabIndex ? "true" : undefined,',
      ],
      ['role: "tabpanel"', 'role: "region"'],
      // Variables are open where a tab has some.
      ['import { useState,', 'import { useEffect, useState,'],
      [
        'const [activeSecondaryEditor, setActiveSecondaryEditor] = useState(t9);',
        `const [activeSecondaryEditor, setActiveSecondaryEditor] = useState(t9);
  useEffect(() => setEditorToolsHiddenElement(tabs[activeTabIndex]?.variables ? null : "second"), [activeTabIndex]);`,
      ],
    ],
  },
  {
    // The editors begin with the tab that was active before the page was loaded again, as by signing in. Without this, the query
    // is there and its variables are not.
    file: `${REACT}/components/provider.js`,
    replace: [
      ['(activeTabIndex === 0 ? tabs[0].query : null)', 'tabs[activeTabIndex]?.query'],
      [
        'initialVariables: variables ?? "",',
        'initialVariables: variables ?? tabs[activeTabIndex]?.variables ?? "",',
      ],
    ],
  },
  {
    // At the end of a session, new editors begin with what is stored. A change that is stored later would be lost.
    file: `${REACT}/utility/debounce.js`,
    replace: [['}, duration);', '}, 0);']],
  },
  {
    // Letters such as ı occur in names, so they are not highlighted as ambiguous.
    file: `${REACT}/utility/create-editor.js`,
    replace: [['fontSize: 15,', 'fontSize: 15, unicodeHighlight: { ambiguousCharacters: false },']],
  },
  {
    // Colors whose contrast is too low: line numbers, numbers, arguments and comments (WCAG 2.2, 1.4.3).
    file: `${REACT}/constants.js`,
    replace: [
      [
        '"editor.background": colors.transparent,',
        `"editor.background": colors.transparent,
	"editorLineNumber.foreground": theme === "dark" ? "#a7b2bf" : "#55606e",
	"editorLineNumber.dimmedForeground": theme === "dark" ? "#a7b2bf" : "#55606e",`,
      ],
      ['foreground: "#908aff"', 'foreground: "#a5a0ff" }, { token: "comment", foreground: "#86b072"'],
      ['foreground: "#6c69ce"', 'foreground: "#5a57b8" }, { token: "number", foreground: "#07734b"'],
    ],
  },
];

/** @returns {import("vite").Plugin} */
export function patchGraphiql() {
  const pending = new Set(PATCHES);
  return {
    name: 'patch-graphiql',
    transform(code, id) {
      const patch = PATCHES.find(({ file }) => id.split('?')[0].endsWith(`/node_modules/${file}`));
      if (patch === undefined) return null;
      pending.delete(patch);
      return patch.replace.reduce((text, [from, to]) => {
        if (text.split(from).length !== 2) this.error(`${patch.file} does not contain ${from} exactly once`);
        return text.replace(from, () => to);
      }, code);
    },
    buildEnd(error) {
      const [{ file } = {}] = pending;
      if (error === undefined && file !== undefined) this.error(`${file} is not part of the bundle`);
    },
  };
}
