package task

import (
	"fmt"
	"strings"
)

// Count returns n with its noun: 1 event, 2 events.
func Count[N ~int | ~int64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "x"): // sandbox
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
