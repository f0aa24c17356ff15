/** A picture that an answer has the signed URL of. */
export interface PictureLink {
  readonly url: string;
  /** Who is in it, as far as the answer tells. */
  readonly name: string;
}

/** More would be a wall, and each is a request. */
const MOST = 60;

/** Finds the signed URLs in an answer, each once. URLs of other places are left alone: nothing is loaded from there. */
export function findPictures(answer: unknown, baseUrl: string): PictureLink[] {
  const found = new Map<string, PictureLink>();
  collect(answer, baseUrl, found);
  return [...found.values()];
}

function collect(value: unknown, baseUrl: string, found: Map<string, PictureLink>): void {
  if (typeof value !== 'object' || value === null || found.size >= MOST) return;
  for (const member of Object.values(value)) {
    if (isPicture(member, baseUrl)) {
      if (!found.has(member) && found.size < MOST) found.set(member, { url: member, name: nameOf(value) });
    } else collect(member, baseUrl, found);
  }
}

function isPicture(value: unknown, baseUrl: string): value is string {
  return (
    typeof value === 'string' &&
    (value.startsWith(`${baseUrl}/photo/v1/`) || value.startsWith(`${baseUrl}/picture/v1/`))
  );
}

function nameOf(holder: object): string {
  const { name, id } = holder as { name?: unknown; id?: unknown };
  if (typeof name === 'string') return name;
  return typeof id === 'string' ? id : 'Somebody';
}
