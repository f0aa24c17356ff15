// Formats the settings of src/config/settings.ts as docs/settings.md and as .env.example.

const INTRODUCTION = `# Settings

Settings are environment variables, or lines of a file: \`.env\` beside the program, or the file that the variable
\`ENV_FILE\` names. Variables take precedence, and relative paths in the file are relative to its directory. [.env.example](../.env.example) is
a template. A setting marked with ° is a secret: \`NAME_FILE\` can name a file that contains its value.
\`./directory check\` shows the settings that differ from their defaults and reports all errors together. Another variable that begins with
\`DIRECTORY_\` is an error.

\`npm run settings\` writes this page from the code.`;

/** The default as text; empty: there is none. */
function defaultOf({ schema }) {
  const value = schema.parse(undefined);
  return value === undefined ? '' : value.toString();
}

/** A table whose columns are aligned as Prettier aligns them. The first row is the heading. */
function formatTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row, filler) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column], filler)).join(' | ')} |`;
  const [heading, ...others] = rows;
  const rule = line(['', '', ''], '-');
  return [line(heading, ' '), rule, ...others.map((row) => line(row, ' '))].join('\n');
}

/** @param groups SETTING_GROUPS */
export function formatSettingsPage(groups) {
  const sections = Object.entries(groups).map(([title, settings]) => {
    const rows = Object.entries(settings).map(([name, setting]) => {
      const value = defaultOf(setting);
      return [
        `\`${name}\`${setting.secret ? ' °' : ''}`,
        value === '' ? '' : `\`${value}\``,
        setting.description,
      ];
    });
    return `## ${title}\n\n${formatTable([['setting', 'default', 'meaning'], ...rows])}`;
  });
  return `${[INTRODUCTION, ...sections].join('\n\n')}\n`;
}

/** @param groups SETTING_GROUPS */
export function formatEnvironmentExample(groups) {
  const sections = Object.entries(groups).map(([title, settings]) => {
    const entries = Object.entries(settings).map(([name, setting]) => {
      const secret = setting.secret ? ` Secret: ${name}_FILE can name a file that contains it.` : '';
      return `# ${setting.description}${secret}\n#${name}=${defaultOf(setting)}`;
    });
    return [`# --- ${title}`, ...entries].join('\n\n');
  });
  const head =
    '# All settings with their defaults. Copy this file to .env and uncomment the lines to change.';
  return `${[head, ...sections].join('\n\n')}\n`;
}
