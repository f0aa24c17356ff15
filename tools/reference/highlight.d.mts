/** HTML of the text, escaped, with colors. Null: the language is unknown. */
export function highlight(text: string, language: string): string | null;
