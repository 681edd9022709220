// Package supervise analyzes what an agent did and reports whether it needs steering, and why. The package uses no
// store, no clock and no workflow.
//
// [Subject.Read] reads stored events. [Rules] applies fixed rules: loops, no progress, repeated errors, edits outside
// of the allowed paths, weakened tests. A [Model] asks a language model whether the work serves the goal. [Analyze]
// does both.
//
// The verdict is steer (a rule or the model found a fault, with the sequences of the events that support it), healthy
// (a model found that the work serves its goal) or unknown (everything else). Rules alone never return healthy, because
// they only know certain faults. The model cannot discard the finding of a rule, because the model reads a trajectory
// that the analyzed agent wrote.
package supervise
