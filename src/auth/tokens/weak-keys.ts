import type { JWK } from 'jose';

/** The usual public exponent (NIST SP 800-56B §6.2: at least 65,537 and odd). */
const LEAST_EXPONENT = 65_537n;
/** Bits of a modulus at least (RFC 7518 §3.3). */
const LEAST_BITS = 2048;

/** Small primes by which moduli of the weak kind are recognized: all odd ones up to 167. */
const PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107,
  109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
];

/** For each of the primes, the powers of 65,537 modulo the prime. */
const POWERS = PRIMES.map((prime) => {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * 65_537) % prime) powers.add(power);
  return powers;
});

/** Why a published key is not believed; null: nothing is wrong with it. Only RSA keys are known to be weak. */
export function weaknessOf({ kty, n, e }: JWK): string | null {
  if (kty !== 'RSA') return null;
  const [modulus, exponent] = [numberOf(n), numberOf(e)];
  if (exponent < LEAST_EXPONENT || exponent % 2n === 0n) return 'its public exponent is below 65537 or even';
  if (modulus.toString(2).length < LEAST_BITS) return `its modulus has fewer than ${LEAST_BITS} bits`;
  if ([2, ...PRIMES].some((prime) => modulus % BigInt(prime) === 0n)) return 'its modulus has a small factor';
  if (hasRocaModulus(modulus)) return 'its modulus can be factored (ROCA, CVE-2017-15361)';
  return null;
}

/**
 * Chips with a faulty library made primes of the form k·M + 65537^a mod M, where M is the product of small primes: such a
 * modulus is a power of 65,537 modulo each of them. A sound one is by chance in 1 of 10^9 (Nemec et al., «The Return of
 * Coppersmith's Attack», 2017, §3).
 */
function hasRocaModulus(modulus: bigint): boolean {
  return PRIMES.every((prime, index) => POWERS[index]?.has(Number(modulus % BigInt(prime))));
}

/** Of a Base64url number (RFC 7518 §2); 0 where there is none. It comes from another server, and may be anything. */
function numberOf(text: unknown): bigint {
  const hex = Buffer.from(typeof text === 'string' ? text : '', 'base64url').toString('hex');
  return hex === '' ? 0n : BigInt(`0x${hex}`);
}
