/** A picture whose signed URL is in a response. */
export interface PictureLink {
  readonly url: string;
  /** Name or id of the object with the picture. */
  readonly name: string;
}

/** Each picture is a request. */
const MAX_PICTURES = 60;

/** Returns the distinct signed URLs of the service in a response. URLs of other origins are ignored. */
export function findPictures(body: unknown, baseUrl: string): PictureLink[] {
  const found = new Map<string, PictureLink>();
  collect(body, baseUrl, found);
  return [...found.values()];
}

function collect(value: unknown, baseUrl: string, found: Map<string, PictureLink>): void {
  if (typeof value !== 'object' || value === null || found.size >= MAX_PICTURES) return;
  for (const member of Object.values(value)) {
    if (isPicture(member, baseUrl)) {
      if (!found.has(member) && found.size < MAX_PICTURES)
        found.set(member, { url: member, name: nameOf(value) });
    } else collect(member, baseUrl, found);
  }
}

function isPicture(value: unknown, baseUrl: string): value is string {
  return (
    typeof value === 'string' &&
    (value.startsWith(`${baseUrl}/photo/v1/`) || value.startsWith(`${baseUrl}/picture/v1/`))
  );
}

function nameOf(owner: object): string {
  const { name, id } = owner as { name?: unknown; id?: unknown };
  if (typeof name === 'string') return name;
  return typeof id === 'string' ? id : 'Picture';
}
