import type { JWK } from 'jose';

/** NIST SP 800-56B §6.2. */
const MIN_EXPONENT = 65_537n;
/** RFC 7518 §3.3. */
const MIN_MODULUS_BITS = 2048;

/** The odd primes up to 167, for the test of ROCA. */
const PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107,
  109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
];

const POWERS = PRIMES.map((prime) => {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * 65_537) % prime) powers.add(power);
  return powers;
});

/** Why a published key is rejected; null if it is sound. Weaknesses are known of RSA keys only. */
export function weaknessOf({ kty, n, e }: JWK): string | null {
  if (kty !== 'RSA') return null;
  const [modulus, exponent] = [numberOf(n), numberOf(e)];
  if (exponent < MIN_EXPONENT || exponent % 2n === 0n) return 'its public exponent is below 65537 or even';
  if (modulus.toString(2).length < MIN_MODULUS_BITS)
    return `its modulus has fewer than ${MIN_MODULUS_BITS} bits`;
  if ([2, ...PRIMES].some((prime) => modulus % BigInt(prime) === 0n)) return 'its modulus has a small factor';
  if (hasRocaModulus(modulus)) return 'its modulus can be factored (ROCA, CVE-2017-15361)';
  return null;
}

/**
 * Faulty chips generated primes k·M + 65537^a mod M, where M is the product of small primes. Such a modulus is a
 * power of 65,537 modulo each of them (Nemec et al., «The Return of Coppersmith's Attack», 2017, §3).
 */
function hasRocaModulus(modulus: bigint): boolean {
  return PRIMES.every((prime, index) => POWERS[index]?.has(Number(modulus % BigInt(prime))));
}

/** Decodes a Base64url number (RFC 7518 §2); 0 if it is missing. It comes from another server and can be any value. */
function numberOf(text: unknown): bigint {
  const hex = Buffer.from(typeof text === 'string' ? text : '', 'base64url').toString('hex');
  return hex === '' ? 0n : BigInt(`0x${hex}`);
}
