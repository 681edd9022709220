package codingagents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Tests are the names of the tests of a program, in the order of the table, without those of omoi check agent.
//
//nolint:gochecknoglobals // constant
var Tests = []string{
	"basic", "message", "tokens", "permission", "cancel in a command", "cancel in an answer", "resume in a turn", "resume after a turn", "next attempt", "long line",
}

// Marks around the table in a document.
const (
	begins = "<!-- make agents-table: begin -->\n"
	ends   = "<!-- end -->\n"
)

// Table returns the table of some agents and tests in Markdown.
func (r Record) Table(agents, tests []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| check | result | seconds (%s) |\n|---|---|---|\n", strings.Join(agents, ", "))
	for _, test := range tests {
		seconds := []string{}
		for _, agent := range agents {
			seconds = append(seconds, fmt.Sprintf("%.0f", r[agent][test].Seconds))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", test, r.results(agents, test), strings.Join(seconds, ", "))
	}
	return b.String()
}

// results returns the most frequent result of a test, then the others with the agents.
func (r Record) results(agents []string, test string) string {
	of := map[string][]string{}
	for _, agent := range agents {
		saw := r[agent][test].Saw
		of[saw] = append(of[saw], "`"+agent+"`")
	}
	all := []string{}
	for saw := range of {
		all = append(all, saw)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(of[b])-len(of[a]), strings.Compare(a, b)) })
	for i, saw := range all[1:] {
		all[i+1] = strings.Join(of[saw], ", ") + ": " + saw
	}
	return strings.Join(all, "; ")
}

// Insert returns a document with the table between its marks.
func Insert(document, table string) (string, error) {
	before, rest, begun := strings.Cut(document, begins)
	_, after, ended := strings.Cut(rest, ends)
	if !begun || !ended {
		return "", fmt.Errorf("the document has no marks of the table")
	}
	return before + begins + table + ends + after, nil
}
