// Takes the screenshots of the documentation with a service of its own: `npm run screenshots [-- --port 3000]`. It needs
// Chromium, which the tests install.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import sharp from 'sharp';
import { build, preview } from 'vite';
import { findProgram } from '../test/support/servers/system-packages.mjs';

const DIRECTORY = 'docs/images';
const VIEWPORT = { width: 1200, height: 800 };
/** Height of two screenshots side by side. */
const HEIGHT = 690;
const WIDE = { viewport: { width: 800, height: HEIGHT }, colorScheme: 'light' };
const NARROW = { viewport: { width: 390, height: HEIGHT }, colorScheme: 'dark' };
/** The redirect URI of the sample's client. */
const CLUB_PAGE = 'http://localhost:5173';
/** Maximum milliseconds of a start. */
const TIMEOUT_MS = 60_000;

const { port } = parseArgs({ options: { port: { type: 'string', default: '3000' } } }).values;
const url = `http://127.0.0.1:${port}`;
const work = mkdtempSync(join(tmpdir(), 'screenshots-'));

const service = spawn(process.execPath, ['dist/bundled/main.js'], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: {
    PATH: process.env.PATH,
    PORT: port,
    DATABASE_URL: `embedded:${join(work, 'mirror')}`,
    CORS_ORIGINS: CLUB_PAGE,
  },
});
const ended = new Promise((resolve) => service.once('close', resolve));
try {
  await waitUntilReady();
  const browser = await chromium.launch({ executablePath: findProgram('chromium') });
  mkdirSync(DIRECTORY, { recursive: true });
  await takeExplorer(browser);
  await takeClubPage(browser);
  await browser.close();
} finally {
  service.kill();
  await ended;
  rmSync(work, { recursive: true });
}

/** The demonstration account is created last. */
async function waitUntilReady() {
  const deadline = Date.now() + TIMEOUT_MS;
  while (service.exitCode === null && Date.now() < deadline) {
    const page = await fetch(`${url}/explorer`).then(
      (response) => response.text(),
      () => '',
    );
    if (page.includes('"demoToken":"')) return;
    await sleep(100);
  }
  throw new Error(`The service did not start on port ${port}`);
}

async function takeExplorer(browser) {
  const page = await browser.newPage({ viewport: VIEWPORT });
  await page.goto(`${url}/explorer`);
  await page.getByText('Scope: read').waitFor();
  await page.getByRole('button', { name: 'Use the demonstration account' }).click();
  await page.getByText('does not end').waitFor();
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.locator('.pictures img').first().waitFor();
  await page.waitForLoadState('networkidle');
  await page.getByText('"groups"').first().waitFor();
  await save(page, 'explorer');
}

/** The page of `examples/`, wide and light beside narrow and dark. */
async function takeClubPage(browser) {
  Object.assign(process.env, { VITE_SERVICE_URL: url, VITE_ISSUER: url });
  const page = { root: 'examples/club-page', logLevel: 'error', build: { outDir: join(work, 'club-page') } };
  await build(page);
  const server = await preview(page);
  const wide = await takeClub(browser, WIDE);
  const narrow = await takeClub(browser, NARROW);
  await server.close();
  await writeBeside(wide, narrow, 'club-page');
}

async function takeClub(browser, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(`${CLUB_PAGE}/#chess-club`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByPlaceholder('Enter any login').fill('ada.martin');
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Chess Club' }).waitFor();
  await page.waitForLoadState('networkidle');
  const picture = await page.screenshot({ animations: 'disabled' });
  await context.close();
  return picture;
}

async function writeBeside(wide, narrow, name) {
  const both = sharp({ create: { width: 1214, height: HEIGHT, channels: 4, background: '#0000' } }).composite(
    [
      { input: wide, left: 0, top: 0 },
      { input: narrow, left: 824, top: 0 },
    ],
  );
  await write(await both.png().toBuffer(), name);
}

/** Limits the colors to those of a page, which makes the files small. */
async function save(page, name) {
  await write(await page.screenshot({ animations: 'disabled' }), name);
}

async function write(picture, name) {
  const file = join(DIRECTORY, `${name}.png`);
  const { size } = await sharp(picture).png({ palette: true, colours: 128, effort: 10 }).toFile(file);
  console.log(`${file}: ${Math.round(size / 1000)} kB`);
}
