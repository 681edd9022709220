import { expect, test } from "vitest";

import { Heights } from "../src/timeline/heights";
import { random } from "./random";

test("heights agree with a plain sum after any changes", () => {
  const next = random(1), heights = new Heights(27), plain: number[] = [];
  for (let step = 0; step < 400; step++) {
    if (next() < 0.3) {
      const more = Math.floor(next() * 300);
      heights.resize(plain.length + more);
      plain.push(...Array<number>(more).fill(27));
    } else if (plain.length > 0) {
      const row = Math.floor(next() * plain.length), height = next() < 0.3 ? 0 : Math.floor(next() * 200);
      heights.set(row, height);
      plain[row] = height;
    }
    const row = Math.floor(next() * (plain.length + 1));
    expect(heights.offset(row)).toBeCloseTo(plain.slice(0, row).reduce((a, b) => a + b, 0), 6);
    expect(heights.total).toBeCloseTo(plain.reduce((a, b) => a + b, 0), 6);
  }
  expect(plain.length).toBeGreaterThan(5000);
  for (let step = 0; step < 500; step++) {
    const y = next() * heights.total, row = heights.rowAt(y);
    expect(heights.offset(row)).toBeLessThanOrEqual(y + 0.001);
    expect(heights.offset(row + 1)).toBeGreaterThan(y - 0.001);
    expect(heights.height(row)).toBeGreaterThan(0);
  }
});

test("a row in view at the top is found past rows without height", () => {
  const heights = new Heights(10);
  heights.resize(5);
  heights.set(0, 0);
  heights.set(1, 0);
  expect(heights.rowAt(0)).toBe(2);
  expect(heights.rowAt(1e9)).toBe(4);
});
