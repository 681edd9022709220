// Package continuous drives coding agents that work in turns. A runtime implements [Agent] and hands it to a [Driver], which
// decides what follows each turn: it holds the limits, waits for messages, has the work judged, asks a validator for its
// verdict, and goes through the iterations of continuous mode. So a runtime is left with its program alone: how that is
// started, spoken to and read.
package continuous
