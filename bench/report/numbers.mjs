// Formats numbers and tables.

/** Formats a number with three significant digits. */
export function digits(value) {
  if (value === null || Number.isNaN(value)) return '—';
  if (value >= 100) return Math.round(value).toLocaleString('en-GB');
  return value.toPrecision(3);
}

export const percent = (share) => `${Math.round(share * 100)} %`;

/** Formats a Markdown table; the first column is text. */
export function table(head, rows) {
  const line = (scenarios) => `| ${scenarios.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '--:'))), ...rows.map(line)].join(
    '\n',
  );
}
