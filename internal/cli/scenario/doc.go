// Package scenario runs what omoi tries on an installation: each scenario is a list of steps with real tasks of the
// scripted agent. The checks are what `omoi check` runs, and the tests of whole installations run them as they are; the
// demo is one scenario with a rendering of its own. A scenario asks the API alone. A check ends what it has made.
package scenario
