import 'graphiql/setup-workers/vite';
import 'graphiql/style.css';
import './style.css';
import { createRoot } from 'react-dom/client';
import { ROOT_ELEMENT } from '../../../src/explorer/page-settings.js';
import { App } from './app.js';
import { handleRedirect } from './sign-in.js';

const root = document.getElementById(ROOT_ELEMENT);
if (root !== null) {
  if (handleRedirect()) createRoot(root).render(<App />);
  else root.textContent = 'The sign-in continues in the window that began it. You can close this one.';
}
