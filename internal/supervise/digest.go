package supervise

import (
	"cmp"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

func digest(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash never returns an error
	return h.Sum64()
}

var (
	// volatile matches what differs between equal answers: times, durations, hashes, addresses and temporary paths.
	volatile = regexp.MustCompile(`\(?\b(?:\d+(?:[-:/]\d+){2,}(?:[T ]\d+(?::\d+)+)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?` +
		`|(?:\d+(?:\.\d+)? ?(?:d|h|m|[mnuµ]?s|min(?:ute)?s?|sec(?:ond)?s?|hours?|days?))+` +
		`|0x[0-9a-fA-F]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?:\d+[a-f]|[a-f]+\d)[0-9a-f]{5,}|cached)\b\)?` +
		`|/(?:tmp|var/folders)/[^\s"',;:)\]}]*`)
	number = regexp.MustCompile(`\b\d+(?:\.\d+)?`)
)

// maxNumbers is the number of numbers that are followed in one answer. In a longer answer each number counts as text.
const maxNumbers = 200

// templateOf returns a digest of a tool's answer without its volatile parts and its numbers, and the numbers.
func templateOf(text string) (uint64, []float64) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(steady(line))
	}
	var numbers []float64
	masked := number.ReplaceAllStringFunc(b.String(), func(digits string) string {
		n, _ := strconv.ParseFloat(digits, 64) // a number out of range becomes infinite
		numbers = append(numbers, n)
		return "#"
	})
	if len(numbers) > maxNumbers {
		masked, numbers = b.String(), nil
	}
	words := strings.FieldsFunc(masked, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`()[]{}<>,;"'`, r) })
	return digest(strings.Join(words, " ")), numbers
}

// steady returns a line without its volatile parts.
func steady(line string) string {
	if strings.ContainsAny(line, "0123456789") || strings.Contains(line, "cached") || strings.Contains(line, "/tmp/") { // for speed
		return volatile.ReplaceAllString(line, "")
	}
	return line
}

// series follows the numbers in the answers of one call.
type series struct {
	last []float64
	ways []int // direction of each number: 1 up, -1 down, 0 none yet, both
}

const both = 2

// moves reports whether a number continues in one direction, as in "migrated 4 of 9". Numbers that go up and down are
// volatile.
func (s *series) moves(numbers []float64) (moves bool) {
	for i, n := range numbers {
		switch way := cmp.Compare(n, s.last[i]); {
		case way == 0:
		case s.ways[i] == 0 || s.ways[i] == way:
			s.ways[i], moves = way, true
		default:
			s.ways[i] = both
		}
	}
	s.last = numbers
	return moves
}

var (
	troubled = regexp.MustCompile(`(?i)error|fail|exception|traceback|panic|cannot|can't|unable|undefined|not found|no such|denied|refused|timed out|fatal|unexpected|expected`)
	places   = regexp.MustCompile(`(:\d+)+\b|\bline \d+`)
)

const errorLines = 3

// errorOf returns the first errorLines lines of text that mention an error, without locations and volatile parts. A bare
// exit code yields "".
func errorOf(text string) string {
	var lines []string
	last, more := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || isExit(line) {
			continue
		}
		last = line
		switch {
		case !troubled.MatchString(line):
		case len(lines) < errorLines:
			lines = append(lines, sentenceOf(line))
		default:
			more++
		}
	}
	if len(lines) == 0 && last != "" {
		lines = append(lines, sentenceOf(last))
	}
	if more > 0 { // a falling count of errors is a different error
		lines = append(lines, strconv.Itoa(more)+" more")
	}
	return strings.Join(lines, " | ")
}

func isExit(line string) bool {
	line = strings.ToLower(strings.Trim(line, "[]"))
	return strings.HasPrefix(line, "exit code ") || strings.HasPrefix(line, "exit status ")
}

func sentenceOf(line string) string {
	words := strings.Fields(places.ReplaceAllString(steady(cut(line, maxText)), ""))
	return cut(strings.Join(words, " "), maxCommand/2)
}
