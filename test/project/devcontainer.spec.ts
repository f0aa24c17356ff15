import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** The members of devcontainer.json that are used here, as in the specification of development containers. */
const DevContainer = z.strictObject({
  name: z.string(),
  image: z.string(),
  postCreateCommand: z.string(),
  forwardPorts: z.array(z.int().min(1).max(65_535)),
  portsAttributes: z.record(
    z.string().regex(/^\d+$/),
    z.strictObject({
      label: z.string(),
      onAutoForward: z.enum(['notify', 'openBrowser', 'openBrowserOnce', 'openPreview', 'silent', 'ignore']),
      requireLocalPort: z.boolean().optional(),
    }),
  ),
  customizations: z.strictObject({
    vscode: z.strictObject({
      extensions: z.array(z.string().regex(/^[\w-]+\.[\w-]+$/)),
      settings: z.record(z.string(), z.unknown()),
    }),
  }),
});

describe('the development container', () => {
  const container = DevContainer.parse(JSON.parse(readFileSync('.devcontainer/devcontainer.json', 'utf8')));
  const { engines, scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    engines: { node: string };
    scripts: Record<string, string>;
  };

  it('has Debian 12 and the oldest supported Node.js', () => {
    expect(container.image).toMatch(/:\d+-bookworm$/);
    expect(engines.node).toContain(`>=${/:(\d+)-/.exec(container.image)?.[1] ?? 'none'}.`);
  });

  it('uses commands that exist', () => {
    for (const command of container.postCreateCommand.split(' && ')) {
      const [program, ...args] = command.split(' ');
      if (program === 'node') expect(existsSync(args[0] ?? '')).toBe(true);
      else
        expect([program, args[0] === 'run' ? scripts[args[1] ?? ''] : args[0]]).toEqual([
          'npm',
          expect.any(String),
        ]);
    }
  });

  it("forwards the ports that it describes, including that of the club page's redirect URI", () => {
    expect(Object.keys(container.portsAttributes)).toEqual(container.forwardPorts.map(String));
    expect(readFileSync('sample/clients.json', 'utf8')).toContain('http://localhost:5173/');
  });
});
