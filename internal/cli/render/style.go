package render

import (
	"strings"
	"unicode/utf8"

	"github.com/omoi-dev/omoi/internal/task"
)

// Style adds terminal colors to text if Color is true.
type Style struct {
	Color bool
	// Width is the number of characters in a line of a table; 0: unlimited.
	Width int
}

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold marks the most important text.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim marks the least important text.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red marks failures.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green marks successes.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow marks text that needs attention.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan marks names.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// Status colors the status of a task.
func (s Style) Status(status task.Status) string {
	switch status {
	case task.StatusCompleted:
		return s.Green(string(status))
	case task.StatusFailed:
		return s.Red(string(status))
	case task.StatusCancelled, task.StatusNeedsRevision:
		return s.Yellow(string(status))
	case task.StatusPending:
		return s.Dim(string(status))
	case task.StatusAssigned, task.StatusRunning, task.StatusPendingValidation, task.StatusValidating:
	}
	return s.Cyan(string(status))
}

// DiffLine colors one line of a unified diff.
func (s Style) DiffLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
		return s.Bold(line)
	case strings.HasPrefix(line, "+"):
		return s.Green(line)
	case strings.HasPrefix(line, "-"):
		return s.Red(line)
	case strings.HasPrefix(line, "@@"):
		return s.Cyan(line)
	}
	return line
}

// leastLast is the minimum width of the last column, in characters.
const leastLast = 8

// Table renders rows as columns, two spaces apart. The first row is the head. Cells may be colored. If a line is longer
// than Width, the last column is cut, unless its cell is colored.
func (s Style) Table(rows [][]string) string {
	widths := make([]int, 0, 8)
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
		}
	}
	last := len(widths) - 1
	room := s.roomFor(widths)
	var b strings.Builder
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i == last && room > 0 && !strings.Contains(cell, "\x1b") {
				cell = Cut(cell, room)
			}
			line.WriteString(cell + strings.Repeat(" ", max(widths[i]-width(cell), 0)+2))
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 {
			text = s.Dim(text)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// roomFor returns the width of the last column; 0: unlimited.
func (s Style) roomFor(widths []int) int {
	if s.Width <= 0 || len(widths) == 0 {
		return 0
	}
	room := s.Width
	for _, w := range widths[:len(widths)-1] {
		room -= w + 2
	}
	return max(room, leastLast)
}

// width counts characters without escape sequences of colors.
func width(cell string) int {
	n := utf8.RuneCountInString(cell)
	for rest := cell; ; {
		_, after, found := strings.Cut(rest, "\x1b[")
		if !found {
			return n
		}
		code, tail, _ := strings.Cut(after, "m")
		n -= len(code) + 3
		rest = tail
	}
}
