package postgres

import (
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

// reads has pgx read what an array has written.
func reads[T, R any](t *testing.T, oid uint32, a array[T], want []R) {
	t.Helper()
	for _, v := range [][]T{nil, a.values} {
		a.values = v
		m := pgtype.NewMap()
		known, ok := m.TypeForOID(oid)
		require.True(t, ok)
		m.RegisterType(&pgtype.Type{Name: known.Name, OID: oid, Codec: arrayCodec{known.Codec}})
		written, err := m.Encode(oid, pgtype.BinaryFormatCode, a, []byte("before"))
		require.NoError(t, err)
		require.Equal(t, "before", string(written[:6]))
		var got []R
		require.NoError(t, m.Scan(oid, pgtype.BinaryFormatCode, written[6:], &got))
		if v == nil {
			require.Empty(t, got)
			continue
		}
		require.Equal(t, want, got)
		_, err = m.Encode(oid, pgtype.BinaryFormatCode, want, nil)
		require.NoError(t, err, "slices are written as ever")
	}
}

func TestArraysAreWrittenAsTheDatabaseReadsThem(t *testing.T) {
	t.Parallel()
	text, number := "é\n\"{,}", -1.5
	words := texts(0)
	for _, v := range []string{"", text, "NULL"} {
		words.add(v)
	}
	reads(t, pgtype.TextArrayOID, words, []string{"", text, "NULL"})
	raw := rawTexts(0)
	raw.add([]byte(text))
	raw.add(nil)
	reads(t, pgtype.TextArrayOID, raw, []string{text, ""})
	maybe := textsOrNull(0)
	maybe.add(nil)
	maybe.add(&text)
	reads(t, pgtype.TextArrayOID, maybe, []*string{nil, &text})
	whole := bigints(0)
	whole.add(math.MinInt64)
	whole.add(math.MaxInt64)
	reads(t, pgtype.Int8ArrayOID, whole, []int64{math.MinInt64, math.MaxInt64})
	truths := booleans(0)
	truths.add(true)
	truths.add(false)
	reads(t, pgtype.BoolArrayOID, truths, []bool{true, false})
	days := dates(0)
	late, early := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	days.add(late)
	days.add(early)
	reads(t, pgtype.DateArrayOID, days, []time.Time{late, early})
	some := floatsOrNull(0)
	some.add(nil)
	some.add(&number)
	reads(t, pgtype.Float8ArrayOID, some, []*float64{nil, &number})
}
