import { asked } from './ask.js';
import type { Price } from './price.js';
import { useStore } from './store.js';

/** What came beside the answer: its price, and the pictures that it has the URLs of. */
export function Beside() {
  const last = useStore(asked);
  return (
    <div className="beside">
      <p role="status" className="price">
        {last === null ? 'Ask, and the price is told here.' : describe(last.status, last.price)}
      </p>
      {last === null || last.pictures.length === 0 ? null : (
        <ul className="pictures" aria-label="Pictures of the answer" tabIndex={0}>
          {last.pictures.map(({ url, name }) => (
            <li key={url}>
              <img src={url} alt={name} title={name} />
              <span aria-hidden="true">{name}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function describe(status: number, { cost, points, requests }: Price): string {
  const parts = [
    cost === undefined ? null : `Price: ${count(cost, 'point')}`,
    points === undefined ? null : `${count(points, 'point')} left this hour`,
    requests === undefined ? null : `${count(requests, 'request')} left this minute`,
    status === 200 ? null : `HTTP ${status.toString()}`,
  ];
  return parts.filter((part) => part !== null).join(' · ');
}

function count(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
}
