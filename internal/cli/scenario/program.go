package scenario

import (
	"fmt"
	"math/big"
	"strings"
)

// The number that the example's program computes: C(n, k).
const (
	chooseN = 50
	chooseK = 25
)

// The example's program is in awk, which every sandbox has. It prints the bare number; with prettyLine in the place of
// plainLine it prints thousands separators.
const (
	programFile = "binomial.awk"
	programRun  = "awk -f binomial.awk"
	plainLine   = `  printf "%.0f\n", binomial(50, 25)`
	prettyLine  = `  print grouped(sprintf("%.0f", binomial(50, 25)))`
	program     = `# Compute a binomial coefficient.
function binomial(n, k,   i, result) {
  result = 1
  for (i = 1; i <= k; i++) result = result * (n - k + i) / i
  return result
}
function grouped(s,   out) {
  while (length(s) > 3) {
    out = "," substr(s, length(s) - 2) out
    s = substr(s, 1, length(s) - 3)
  }
  return s out
}
BEGIN {
` + plainLine + "\n}\n"
)

// exampleEdits is how many changes of files the example makes.
const exampleEdits = 2

// exampleText is the example's task, as a user would write it.
func exampleText() string {
	return fmt.Sprintf("Write %s that computes C(%d,%d), run it, then make it print with thousands separators, run it again, commit.",
		programFile, chooseN, chooseK)
}

// exampleSteps are what the scripted agent does.
func exampleSteps() []map[string]any {
	type step = map[string]any
	return []step{
		say("I write the program first, with whole numbers only, so that nothing is rounded."),
		{"write": step{"path": programFile, "content": program}},
		bash(programRun),
		say("It prints {{last_output}}. Now with thousands separators."),
		{"edit": step{"path": programFile, "old": plainLine, "new": prettyLine}},
		bash(programRun),
		{"commit": fmt.Sprintf("Compute C(%d,%d)", chooseN, chooseK)},
		complete("{{last_output}}"),
	}
}

// expected is the number, computed here by other means.
func expected() string { return new(big.Int).Binomial(chooseN, chooseK).String() }

// grouped puts thousands separators into a number.
func grouped(digits string) string {
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, parts...), ",")
}
