// What of GraphiQL keeps people out, or shows names as if something were wrong with them: neither its properties nor a style
// sheet reach these places. Each mend fails the build when its place has changed: then it is looked at anew.
const REACT = '@graphiql/react/dist';

/** @type {readonly { file: string, replace: readonly (readonly [string, string])[] }[]} */
const PATCHES = [
  {
    // A tab has two buttons in it, one of which closes it, and a tab must not have any (ARIA 1.2 §5.2.8): a list may.
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
    ],
  },
  {
    // Letters such as ı are suspicious in code, and belong to names.
    file: `${REACT}/utility/create-editor.js`,
    replace: [['fontSize: 15,', 'fontSize: 15, unicodeHighlight: { ambiguousCharacters: false },']],
  },
  {
    // Numbers of lines and in answers, arguments and comments that are pale (WCAG 2.2, 1.4.3).
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
  const left = new Set(PATCHES);
  return {
    name: 'patch-graphiql',
    transform(code, id) {
      const patch = PATCHES.find(({ file }) => id.split('?')[0].endsWith(`/node_modules/${file}`));
      if (patch === undefined) return null;
      left.delete(patch);
      return patch.replace.reduce((text, [from, to]) => {
        if (text.split(from).length !== 2) this.error(`${patch.file} does not have ${from} once any more`);
        return text.replace(from, () => to);
      }, code);
    },
    buildEnd(error) {
      const [{ file } = {}] = left;
      if (error === undefined && file !== undefined) this.error(`${file} is not there any more`);
    },
  };
}
