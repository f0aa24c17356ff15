import { useState } from 'preact/hooks';

/** Somebody's photo, or their initials: where there is none, and where it does not load. The name stands beside it. */
export function Portrait({ name, photo }: { name: string; photo: string | null }) {
  const [isBroken, setBroken] = useState(false);
  return photo === null || isBroken ? (
    <span class="portrait" data-tint={tintOf(name)} aria-hidden="true">
      {initialsOf(name)}
    </span>
  ) : (
    <img
      class="portrait"
      src={photo}
      alt=""
      loading="lazy"
      onError={() => {
        setBroken(true);
      }}
    />
  );
}

/** The first letters of the first and the last word, in any script. */
function initialsOf(name: string): string {
  const words = name.split(/[\s-]+/u).filter((word) => /^\p{L}/u.test(word));
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].map(
    (word) => [...(word ?? '')][0] ?? '',
  );
  return letters.join('').toLocaleUpperCase();
}

/** One of six, always the same for a name: the style sheet knows them. */
function tintOf(name: string): number {
  return [...name].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0) % 6;
}
