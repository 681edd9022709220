package api

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// A list is never in memory as a whole: each piece has the elements of a few pages at most.
func TestLegacyList_IsSentInPieces(t *testing.T) {
	t.Parallel()
	read := 0
	list := legacyList[int]{
		limit: 900, offset: 50, most: 2050, keep: func(n int) bool { return n < 400 || n > 700 }, form: func(n int) any { return n },
		read: func(_ context.Context, at client.PageRequest) (page client.Page[int], err error) {
			require.LessOrEqual(t, at.Limit, 100)
			require.Equal(t, strconv.Itoa(read), cmp.Or(at.Cursor, "0"))
			for range at.Limit {
				page.Items = append(page.Items, read)
				read++
			}
			page.NextCursor = new(strconv.Itoa(read))
			return page, nil
		},
	}
	list.head, list.tail = objectWith("items")
	var all []byte
	pieces := 0
	for piece := []byte("begin"); len(piece) > 0; {
		var err error
		piece, err = list.next(t.Context())
		require.NoError(t, err)
		require.Less(t, len(piece), 100*len("1000,")+20)
		all, pieces = append(all, piece...), pieces+1
	}
	var got struct {
		Items []int `json:"items"`
		Total int   `json:"total"`
	}
	require.NoError(t, json.Unmarshal(all, &got))
	require.Len(t, got.Items, 900)
	require.Equal(t, []int{50, 1250, 1749, 2050}, []int{got.Items[0], got.Items[899], got.Total, read})
	require.Greater(t, pieces, 9)
}
