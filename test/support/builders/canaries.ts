/** Secrets that a test searches for in all encodings in which they can occur. */
export class Canaries {
  private readonly spellings = new Map<string, string>();

  /** @param kind the name that a match is reported by */
  add(kind: string, secret: string): string {
    const base64 = Buffer.from(secret).toString('base64');
    const percent = encodeURIComponent(secret);
    for (const spelling of [
      secret,
      base64.replace(/=+$/, ''),
      percent,
      JSON.stringify(secret).slice(1, -1),
    ]) {
      this.spellings.set(spelling, kind);
    }
    return secret;
  }

  /** Returns the kinds of the secrets that a text contains, ignoring case. */
  foundIn(text: string): string[] {
    const folded = text.toLowerCase();
    const found = [...this.spellings].filter(([spelling]) => folded.includes(spelling.toLowerCase()));
    return [...new Set(found.map(([, kind]) => kind))];
  }
}
