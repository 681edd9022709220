package scenario

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
)

// The number that the demo's program computes: C(n, k).
const (
	chooseN = 50
	chooseK = 25
)

// program is the same little program in a language that this machine has.
type program struct {
	file   string
	run    string // shell command
	source string
	plain  string // the line that prints the bare number
	pretty string // the line that prints thousands separators instead
}

// standardPath is what a sandbox sees, whatever the caller's own PATH is.
const standardPath = "/usr/local/bin:/usr/bin:/bin"

// choose prefers Python; awk is everywhere.
func choose() program {
	for _, dir := range filepath.SplitList(standardPath) {
		if info, err := os.Stat(filepath.Join(dir, "python3")); err == nil && info.Mode().IsRegular() {
			return python()
		}
	}
	return awk()
}

func python() program {
	plain, pretty := "print(binomial(50, 25))", `print(f"{binomial(50, 25):,}")`
	return program{file: "binomial.py", run: "python3 binomial.py", plain: plain, pretty: pretty, source: `"""Compute a binomial coefficient."""


def binomial(n, k):
    result = 1
    for i in range(1, k + 1):
        result = result * (n - k + i) // i
    return result


` + plain + "\n"}
}

func awk() program {
	plain, pretty := `  printf "%.0f\n", binomial(50, 25)`, `  print grouped(sprintf("%.0f", binomial(50, 25)))`
	return program{file: "binomial.awk", run: "awk -f binomial.awk", plain: plain, pretty: pretty, source: `# Compute a binomial coefficient.
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
` + plain + "\n}\n"}
}

// text is the task as a person would give it.
func (p program) text() string {
	return fmt.Sprintf("Write %s that computes C(%d,%d), run it, then make it print with thousands separators, run it again, commit.",
		p.file, chooseN, chooseK)
}

// steps are what the scripted agent does.
func (p program) steps() []map[string]any {
	type step = map[string]any
	return []step{
		{"say": "I write the program first, with whole numbers only, so that nothing is rounded."},
		{"write": step{"path": p.file, "content": p.source}},
		{"bash": p.run},
		{"say": "It prints {{last_output}}. Now with thousands separators."},
		{"edit": step{"path": p.file, "old": p.plain, "new": p.pretty}},
		{"bash": p.run},
		{"commit": fmt.Sprintf("Compute C(%d,%d)", chooseN, chooseK)},
		{"complete": step{"output": "{{last_output}}", "success": true}},
	}
}

// example is the task of the demo as the check e2e gives it, in a language that every sandbox has.
type example struct {
	Text   string           // of the task
	Steps  []map[string]any // of the scripted agent
	Result string           // what the agent says in the end
	Edits  int              // changes of files on the way
}

func theExample() example {
	p := awk()
	return example{Text: p.text(), Steps: p.steps(), Result: grouped(expected()), Edits: 2}
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
