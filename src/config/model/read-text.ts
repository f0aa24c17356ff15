import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** The largest file in bytes. A model has a few kilobytes. */
const LARGEST = 1_000_000;
const LINE_FEED = 0x0a;

/** Why a file cannot be used: the end of a sentence whose subject is the setting, and a cure. */
interface UnusableFile {
  readonly cause: string;
  readonly cure: string;
}

/** Reads a file of bounded size. It waits for no writer of a pipe. */
export function readBounded(file: string): Buffer | UnusableFile {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!fstatSync(descriptor).isFile())
        return { cause: 'names something that is not a file', cure: 'Write the path of a YAML file' };
      const bytes = Buffer.alloc(LARGEST + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(descriptor, bytes, length, bytes.length - length, null);
      return length > LARGEST ? TOO_LARGE : bytes.subarray(0, length);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return UNREADABLE[code] ?? { ...OTHERWISE, cause: `${OTHERWISE.cause} (${code})` };
  }
}

const TOO_LARGE: UnusableFile = {
  cause: `names a file of more than ${LARGEST} bytes`,
  cure: 'A model has a few kilobytes: check that the path is the right one',
};
const ABSENT: UnusableFile = {
  cause: 'names a file that does not exist',
  cure: 'Correct the path, or create the file',
};
const PROTECTED: UnusableFile = {
  cause: 'names a file that this user may not read',
  cure: 'Permit the user of the process to read the file and to enter its directories',
};
const OTHERWISE: UnusableFile = {
  cause: 'names a file that cannot be read',
  cure: 'Check the path and the file system',
};
const UNREADABLE: Readonly<Record<string, UnusableFile>> = {
  ENOENT: ABSENT,
  ENOTDIR: ABSENT,
  EACCES: PROTECTED,
  EPERM: PROTECTED,
};

/** The line and column of the first byte that is not UTF-8, from 1; null if there is none. */
export function placeOfInvalidByte(bytes: Buffer): { line: number; column: number } | null {
  if (isUtf8(bytes)) return null;
  let start = 0;
  for (let line = 1; ; line++) {
    const found = bytes.indexOf(LINE_FEED, start);
    const end = found < 0 ? bytes.length : found;
    const text = bytes.subarray(start, end);
    if (!isUtf8(text)) return { line, column: text.toString('utf8').indexOf('\ufffd') + 1 };
    start = end + 1;
  }
}
