import fc from 'fast-check';
import { escapeHtml } from '../../pages/html.js';
import { deviceCodePage, deviceConfirmPage, messagePage, signInPage } from './pages.js';

const HOSTILE = `"><script>alert('1')</script>&`;

describe('the pages', () => {
  it('escape all external text', () => {
    const form = { action: HOSTILE, secret: HOSTILE, userCode: HOSTILE };
    const pages = [
      signInPage({
        application: HOSTILE,
        scopes: [HOSTILE],
        id: HOSTILE,
        problem: HOSTILE,
        people: [{ id: HOSTILE, name: HOSTILE, about: HOSTILE }],
      }),
      deviceCodePage(form, HOSTILE),
      deviceConfirmPage(form, HOSTILE),
      messagePage('Title', HOSTILE),
    ];
    for (const { body } of pages) {
      expect(body).not.toContain('<script');
      expect(body).toContain('&lt;script&gt;');
    }
  });

  it('leave no character that ends a text or an attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(escapeHtml(text)).not.toMatch(/[<>"']/);
      }),
    );
  });

  it('describe what the application requests', () => {
    const { body } = signInPage({ application: 'Timetable', scopes: ['openid', 'read'], id: '', people: [] });
    expect(body).toContain('<strong>Timetable</strong> asks to');
    expect(body).toContain('<li>look up and search people and groups</li>');
  });

  it('associate an error with its field', () => {
    const { body } = signInPage({
      application: 'Timetable',
      scopes: [],
      id: 'nobody',
      problem: 'Nobody.',
      people: [],
    });
    expect(body).toMatch(
      /<input id="id"[^>]*value="nobody"[^>]*aria-invalid="true" aria-describedby="problem">/,
    );
    expect(body).toContain('<p id="problem" role="alert">Nobody.</p>');
  });
});
