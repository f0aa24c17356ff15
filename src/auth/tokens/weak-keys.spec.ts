import { checkPrimeSync, generateKeyPairSync } from 'node:crypto';
import { weaknessOf } from './weak-keys.js';

function generateRsa(modulusLength: number, publicExponent: number) {
  return generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey.export({ format: 'jwk' });
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  for (let [factor, rest] = [base % modulus, exponent]; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * factor) % modulus;
    factor = (factor * factor) % modulus;
  }
  return result;
}

/** Product of the first 126 primes: what the faulty library takes for keys of 2,048 bits. */
function primorial(): bigint {
  let product = 1n;
  for (let [candidate, count] = [2n, 0]; count < 126; candidate++) {
    if (!checkPrimeSync(candidate)) continue;
    product *= candidate;
    count++;
  }
  return product;
}

/** A prime as the faulty library makes them. */
function findRocaPrime(product: bigint, exponent: bigint): bigint {
  const rest = power(65_537n, exponent, product);
  for (let factor = 1n << 53n; ; factor++) {
    const candidate = factor * product + rest;
    if (checkPrimeSync(candidate)) return candidate;
  }
}

function encode(number: bigint): string {
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url');
}

describe('a key', () => {
  it('of RSA is accepted with 2,048 bits and the usual exponent', () => {
    expect(weaknessOf(generateRsa(2048, 65_537))).toBeNull();
    expect(weaknessOf(generateRsa(3072, 0x1000_0001))).toBeNull();
  });

  it('with the public exponent 1, an even one, or none is weak', () => {
    const { n } = generateRsa(2048, 65_537);
    for (const e of [encode(1n), encode(65_538n), '', undefined])
      expect(weaknessOf({ kty: 'RSA', n, ...(e === undefined ? {} : { e }) })).toMatch(/exponent/);
  });

  it('with a short modulus is weak', () => {
    expect(weaknessOf(generateRsa(1024, 65_537))).toMatch(/bits/);
    expect(weaknessOf({ kty: 'RSA', e: 'AQAB' })).toMatch(/bits/);
  });

  it.each([2n, 3n, 167n])('whose modulus is divisible by %d is weak', (factor) => {
    const modulus = factor * ((1n << 2050n) + 1n);
    expect(weaknessOf({ kty: 'RSA', n: encode(modulus), e: 'AQAB' })).toMatch(/factor/);
  });

  it('with primes of the form that ROCA finds is weak', () => {
    const product = primorial();
    const modulus = findRocaPrime(product, 12_345_678_901n) * findRocaPrime(product, 98_765_432_109n);
    expect(modulus.toString(2).length).toBeGreaterThanOrEqual(2040);
    // Slightly fewer than 2,048 bits or more: only the form of the primes matters.
    expect(weaknessOf({ kty: 'RSA', n: encode(modulus * 65_537n ** 2n), e: 'AQAB' })).toMatch(/ROCA/);
  });
});
