import 'graphiql/setup-workers/vite';
import 'graphiql/style.css';
import './style.css';
import { createRoot } from 'react-dom/client';
import { ROOT_ELEMENT } from '../../../src/explorer/page-settings.js';
import { App } from './app.js';
import { handleRedirect } from './sign-in.js';

const root = document.getElementById(ROOT_ELEMENT);
if (handleRedirect() && root !== null) createRoot(root).render(<App />);
