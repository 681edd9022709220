package supervise

import (
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func digest(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash never returns an error
	return h.Sum64()
}

// digestOf returns a digest of a tool's answer without times, durations, addresses and temporary paths, so that
// repeated answers have equal digests. Other numbers count.
func digestOf(text string) uint64 {
	var kept []string
	held := ""
	for word := range strings.FieldsSeq(text) {
		word = plain(word)
		if numeric(held) && isUnit(word) { // for example "0.12 seconds"
			held, word = "", ""
		}
		if held != "" {
			kept = append(kept, held)
		}
		held = word
	}
	return digest(strings.TrimRight(strings.Join(append(kept, held), " "), " "))
}

// plain returns the word without punctuation, or "" if the word is volatile.
func plain(word string) string {
	word = strings.Trim(word, "()[]{}<>,;\"'")
	if volatile(word) {
		return ""
	}
	return word
}

func volatile(word string) bool {
	switch {
	case strings.HasPrefix(word, "/tmp/"), strings.HasPrefix(word, "/var/folders/"), strings.HasPrefix(word, "0x"):
		return true
	case word == "cached":
		return true
	case word == "" || !strings.ContainsAny(word, "0123456789"):
		return false
	}
	return isClock(word) || isDuration(word)
}

// isDuration reports whether word is a duration such as 0.12s, 12ms or 1m3.2s.
func isDuration(word string) bool {
	if word[0] < '0' || word[0] > '9' || !strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "m") {
		return false
	}
	_, err := time.ParseDuration(word)
	return err == nil
}

// isClock reports whether word is a date or time: digits with at least two separators.
func isClock(word string) bool {
	marks := 0
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
		case c == ':' || c == '-' && i > 0 || c == '/' && i > 0:
			marks++
		case c == '.' || c == 'T' || c == 'Z' || c == '+':
		default:
			return false
		}
	}
	return marks >= 2
}

func numeric(word string) bool {
	return word != "" && strings.Trim(word, "0123456789.") == ""
}

func isUnit(word string) bool {
	return slices.Contains([]string{"s", "ms", "sec", "secs", "second", "seconds", "m", "min", "minutes"}, word)
}

var (
	troubled = regexp.MustCompile(`(?i)error|fail|exception|traceback|panic|cannot|can't|unable|undefined|not found|no such|denied|refused|timed out|fatal|unexpected|expected`)
	places   = regexp.MustCompile(`(:\d+)+\b|\bline \d+|0x[0-9a-f]+`)
)

const errorLines = 3

// errorOf returns the first errorLines lines of text that mention an error, without locations and times. A bare exit
// code yields "".
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
	words := slices.DeleteFunc(strings.Fields(places.ReplaceAllString(cut(line, maxText), "")), func(word string) bool {
		return volatile(strings.Trim(word, "()[],;"))
	})
	return cut(strings.Join(words, " "), maxCommand/2)
}
