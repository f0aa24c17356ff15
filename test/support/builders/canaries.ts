/** Secrets that are looked for wherever they are not to be: in every spelling that they travel in. */
export class Canaries {
  private readonly spellings = new Map<string, string>();

  /** @param kind what it is told as where it is found */
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

  /** The kinds of those that are in a text, in any case. */
  foundIn(text: string): string[] {
    const folded = text.toLowerCase();
    const found = [...this.spellings].filter(([spelling]) => folded.includes(spelling.toLowerCase()));
    return [...new Set(found.map(([, kind]) => kind))];
  }
}
