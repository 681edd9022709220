package review_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestComments_Message(t *testing.T) {
	t.Parallel()
	text, err := review.Comments{From: "base", To: "2.14", Text: " Nearly there. \n", Comments: []review.Comment{
		{Path: "a.go", Line: 12, Text: "Return the error.\nAnd test it.", Quote: "x, _ := f()\r\n"},
		{Path: "b\n.go", Line: 3, EndLine: 5, Side: "old", Text: "Why was this removed?"},
		{Path: "c.go", Text: "Not needed."},
	}}.Message()
	require.NoError(t, err)
	require.Equal(t, `Review comments on your work. Change what they ask for, and commit to the same branch.

Nearly there.

1. a.go, line 12 (at 2.14)
   > x, _ := f()
   Return the error.
   And test it.

2. "b\n.go", lines 3 to 5, before the change
   Why was this removed?

3. c.go (at 2.14)
   Not needed.
`, text)
}

func TestComments_Refused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 20_000)
	for field, c := range map[string]review.Comments{
		"comments":             {Text: " "},
		"comments[0].end_line": {Comments: []review.Comment{{Path: "a", Line: 5, EndLine: 4, Text: "x"}}},
		"comments[1].end_line": {Comments: []review.Comment{{Path: "a", Text: "x"}, {Path: "a", EndLine: 4, Text: "x"}}},
	} {
		_, err := c.Message()
		require.Equal(t, field, fieldOf(err))
	}
	_, err := review.Comments{Text: long, Comments: []review.Comment{{Path: "a", Text: long}, {Path: "a", Text: long, Quote: long}}}.Message()
	require.ErrorContains(t, err, "the limit is 61440")
	_, err = review.Comments{Text: "\x00"}.Message()
	require.ErrorContains(t, err, "U+0000")
}

func fieldOf(err error) string {
	if e, ok := err.(*task.Error); ok { //nolint:errorlint // made by Message
		return e.Field
	}
	return ""
}
