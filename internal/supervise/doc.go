// Package supervise is what the guardian thinks: it reads what an agent did and says whether
// somebody should step in, and why. It touches no store, no clock and no workflow.
//
// [Subject.Read] takes stored events in. [Rules] looks for what needs no understanding: loops,
// standstill, the same error again and again, edits where none are allowed, weakened tests.
// [Model] asks a language model whether the work serves the goal. [Analyze] is both.
//
// Three verdicts, and no silent fourth: steer (a rule or the model found something, with the
// numbers of the events that show it), healthy (a model looked and found the work to serve its
// goal), unknown (all else). Rules alone never say healthy: that no rule spoke means that nothing
// known to be bad was seen, not that the work is good. What a rule has found a model cannot talk
// away, since the trajectory that it reads is written by the one who is judged.
package supervise
