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

const unit = `(?:d|h|m|[mnuµ]?s|min(?:ute)?s?|sec(?:ond)?s?|hours?|days?)`

var (
	// volatile matches what differs between equal answers: times, durations, hashes, addresses and temporary paths.
	volatile = regexp.MustCompile(`\(?\b(?:\d+(?:[-:/]\d+){2,}(?:T\d+(?::\d+)+)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|(?:\d+(?:\.\d+)?` + unit + `)+` +
		`|0x[0-9a-fA-F]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?:\d+[a-f]|[a-f]+\d)[0-9a-f]{5,}|cached)\b\)?` +
		`|/(?:tmp|var/folders)/[^\s"',;:)\]}]*`)
	twoWords = regexp.MustCompile(`^\W*\d+(?:\.\d+)?` + unit + `\W*$`) // a duration, without its space
	number   = regexp.MustCompile(`\b\d+(?:\.\d+)?`)
)

// maxNumbers is the number of numbers that are followed in one answer. In a longer answer each number counts as text.
const maxNumbers = 200

// templateOf returns a digest of a tool's answer without its volatile parts and its numbers, and the numbers.
func templateOf(text string) (uint64, []float64) {
	words := steady(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`()[]{}<>"'`, r) }))
	masked := make([]string, len(words))
	var numbers []float64
	for i, word := range words {
		masked[i] = number.ReplaceAllStringFunc(word, func(digits string) string {
			n, _ := strconv.ParseFloat(digits, 64) // a number out of range becomes infinite
			numbers = append(numbers, n)
			return "#"
		})
	}
	if len(numbers) > maxNumbers {
		masked, numbers = words, nil
	}
	return digest(strings.Join(masked, " ")), numbers
}

// steady returns words without their volatile parts.
func steady(words []string) []string {
	kept := make([]string, 0, len(words))
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch digits := strings.ContainsAny(word, "0123456789"); {
		case digits && i+1 < len(words) && twoWords.MatchString(word+words[i+1]):
			i++
			continue
		case digits, strings.Contains(word, "cached"), strings.Contains(word, "/tmp/"): // for speed
			word = volatile.ReplaceAllString(word, "")
		}
		if word != "" {
			kept = append(kept, word)
		}
	}
	return kept
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
	text := strings.Join(steady(strings.Fields(cut(line, maxText))), " ")
	return cut(strings.Join(strings.Fields(places.ReplaceAllString(text, "")), " "), maxCommand/2)
}
