package scenario

import (
	"fmt"
	"math/big"
	"strings"
)

// The program of the example computes C(chooseN, chooseK).
const (
	chooseN = 50
	chooseK = 25
)

// The program of the example is written in awk, which every sandbox has. The program prints the bare number; with
// prettyLine instead of plainLine, thousands separators too.
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

// exampleEdits is the number of file edits in the example.
const exampleEdits = 2

// exampleText returns the description of the example's task.
func exampleText() string {
	return fmt.Sprintf("Write %s that computes C(%d,%d), run it, then make it print with thousands separators, run it again, commit.",
		programFile, chooseN, chooseK)
}

// exampleSteps returns the script of the example.
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

// ExampleCommands returns the shell commands by which a coding agent does the task of the demo. The last one prints the
// number with separators.
func ExampleCommands() []string {
	write := func(text string) string { return "cat > " + programFile + " <<'END'\n" + text + "END" }
	return []string{
		write(program), programRun, write(strings.Replace(program, plainLine, prettyLine, 1)),
		fmt.Sprintf("git add -A && git commit -qm 'Compute C(%d,%d)' && %s", chooseN, chooseK, programRun),
	}
}

// expected returns the number, computed by math/big.
func expected() string { return new(big.Int).Binomial(chooseN, chooseK).String() }

// grouped inserts thousands separators.
func grouped(digits string) string {
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, parts...), ",")
}
