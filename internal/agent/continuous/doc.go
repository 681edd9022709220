// Package continuous drives coding agents that work in turns. A runtime implements [Agent] and passes it to a [Driver],
// which decides what follows each turn: it enforces the limits, waits for messages, validates the work, asks a
// validator for its verdict, and runs the iterations of continuous mode. A runtime only starts its program, writes to
// it and reads from it.
package continuous
