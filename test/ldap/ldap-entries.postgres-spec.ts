import { createHash, randomBytes } from 'node:crypto';
import sharp from 'sharp';
import { DataSource } from 'typeorm';
import { modelSetting } from '../support/builders/model-file.js';
import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { FollowedDirectory } from '../support/servers/ldap.js';
import { readMembers } from '../support/builders/ldap-mirror.js';

const LARGE_GROUP = 10_000;

/** JPEG does not compress noise. */
async function noisePhoto(): Promise<Buffer> {
  const side = 1200;
  const photo = await sharp(randomBytes(side * side * 3), { raw: { width: side, height: side, channels: 3 } })
    .jpeg({ quality: 100, chromaSubsampling: '4:4:4' })
    .toBuffer();
  expect(photo.length).toBeGreaterThan(3_000_000);
  return photo;
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const modify = (dn: string, ...lines: string[]) => `dn: ${dn}\nchangetype: modify\n${lines.join('\n')}\n`;
const base64 = (bytes: Buffer) => bytes.toString('base64');

describe('unusual entries', () => {
  const directory = forSuite(() => {
    const strangers = Array.from({ length: LARGE_GROUP - 1 }, (_, index) => `stranger-${index}`);
    const ldif = buildLdif(
      ['anna', 'ben'].map((id) => ({ id, name: `Person ${id}` })),
      [
        { id: 'large', members: ['anna', ...strangers] },
        { id: 'small', description: 'plain' },
      ],
    );
    return FollowedDirectory.start(
      { ldif },
      // Octet strings may contain any bytes; directory strings are UTF-8.
      modelSetting('users: {fields: {givenName: profilePicture, picture: audio}}'),
    );
  });

  const readRow = async (table: 'users' | 'groups', id: string): Promise<Record<string, unknown>> => {
    const [row = {}]: Record<string, unknown>[] = await directory.service.app
      .get(DataSource)
      .query(`select * from ${table} where id = $1`, [id]);
    return row;
  };

  it('a group of ten thousand members gets one more, and loses one', async () => {
    await directory.change(modify(groupDn('large'), 'add: member', `member: ${personDn('ben')}`));
    await eventually(() => readMembers(directory.service, 'large'), ['anna MEMBER', 'ben MEMBER']);
    await directory.change(modify(groupDn('large'), 'delete: member', `member: ${personDn('anna')}`));
    await eventually(() => readMembers(directory.service, 'large'), ['ben MEMBER']);
    const [dangling]: { count: number }[] = await directory.service.app.get(DataSource).query(`
      select count(*)::integer as count from "references" r join groups g on g.key = r.from_key
      where g.id = 'large' and not exists (select from names n where n.name = r.target)`);
    expect(dangling).toEqual({ count: LARGE_GROUP - 1 });
  });

  it('a photo of three megabytes is stored byte for byte, and so is the next one', async () => {
    const photos = [await noisePhoto(), await noisePhoto()];
    for (const photo of photos) {
      await directory.change(modify(personDn('anna'), 'replace: jpegPhoto', `jpegPhoto:: ${base64(photo)}`));
      await eventually(
        async () => ((await readRow('users', 'anna'))['photo'] as Buffer | null)?.toString('hex'),
        sha256(photo),
      );
    }
    const kept: { length: number }[] = await directory.service.app
      .get(DataSource)
      .query('select octet_length(bytes) as length from pictures');
    expect(kept).toEqual([{ length: photos[1]?.length }]);
  });
});
