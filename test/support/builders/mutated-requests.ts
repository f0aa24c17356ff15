/** Characters that a request line and a header can contain. */
export const asLatin1 = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, '?');
