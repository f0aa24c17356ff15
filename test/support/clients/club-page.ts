import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { extname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

/** The club page of `examples/`, built for one service and served on its own origin. */
export class ClubPage {
  private constructor(
    readonly url: string,
    private readonly server: Server,
  ) {}

  /**
   * @param service the URL of a service with an embedded identity provider
   * @param directory output of the build
   */
  static async serve(port: number, service: string, directory: string): Promise<ClubPage> {
    const vite = relative('examples/club-page', 'node_modules/vite/bin/vite.js');
    await execute(process.execPath, [vite, 'build', '--outDir', directory, '--logLevel', 'error'], {
      cwd: 'examples/club-page',
      env: { PATH: process.env.PATH, VITE_SERVICE_URL: service, VITE_ISSUER: service },
    });
    const server = createServer(({ url = '/' }, response) => {
      const path = url.replace(/\?.*/, '');
      const file = resolve(directory, path === '/' ? 'index.html' : join('.', path));
      try {
        response.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/octet-stream');
        response.end(readFileSync(file));
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((done) => server.listen(port, 'localhost', done));
    return new ClubPage(`http://localhost:${port}/`, server);
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
