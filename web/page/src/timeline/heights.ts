const block = 512;

/** Heights of rows 0 to n-1, and their sums in blocks: an append costs nothing for the rows before. */
export class Heights {
  count = 0;
  private rows = new Float32Array(block);
  private sums = new Float64Array(1);

  constructor(private readonly estimate: number) {}

  /** Makes the list longer or shorter; new rows get the estimate. */
  resize(count: number): void {
    if (count > this.rows.length) {
      const size = Math.ceil(Math.max(count, this.rows.length * 2) / block) * block;
      const rows = new Float32Array(size), sums = new Float64Array(size / block);
      rows.set(this.rows);
      sums.set(this.sums);
      [this.rows, this.sums] = [rows, sums];
    }
    while (this.count > count) {
      this.set(this.count - 1, 0);
      this.count--;
    }
    for (; this.count < count; this.count++) {
      this.rows[this.count] = this.estimate;
      this.sums[Math.floor(this.count / block)]! += this.estimate;
    }
  }

  /** Sets the height of a row, and reports whether that changed anything. */
  set(row: number, height: number): boolean {
    const was = this.rows[row]!;
    if (row >= this.count || Math.abs(was - height) < 0.01) {
      return false;
    }
    this.rows[row] = height;
    this.sums[Math.floor(row / block)]! += this.rows[row]! - was;
    return true;
  }

  height(row: number): number {
    return this.rows[row] ?? 0;
  }

  /** The sum of the heights of all rows before this one. */
  offset(row: number): number {
    const whole = Math.floor(row / block);
    let sum = 0;
    for (let b = 0; b < whole; b++) {
      sum += this.sums[b]!;
    }
    for (let r = whole * block; r < row; r++) {
      sum += this.rows[r]!;
    }
    return sum;
  }

  get total(): number {
    return this.offset(this.count);
  }

  /** The row at a distance from the top: the last one that begins at or before it and has a height. */
  rowAt(y: number): number {
    let b = 0, sum = 0;
    const blocks = Math.ceil(this.count / block);
    while (b < blocks - 1 && sum + this.sums[b]! <= y) {
      sum += this.sums[b++]!;
    }
    let row = b * block;
    while (row < this.count - 1 && sum + this.rows[row]! <= y) {
      sum += this.rows[row++]!;
    }
    return row;
  }
}
