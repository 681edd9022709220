package postgres

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// array is a parameter of the intake. pgx asks of each element of a slice what it is; here that
// is known, and most of what the intake sends is arrays.
type array[T any] struct {
	oid    uint32 // of an element
	put    func(into []byte, v T) (out []byte, null bool)
	values []T
}

func (a *array[T]) add(v T) { a.values = append(a.values, v) }

// appendTo writes the array in the database's binary form: dimensions, whether NULLs may be in
// it, type, length, first index, then each element behind its length.
func (a array[T]) appendTo(out []byte) []byte {
	const maybeNull, null = 1, math.MaxUint32
	if len(a.values) == 0 {
		out = binary.BigEndian.AppendUint64(out, 0)
		return binary.BigEndian.AppendUint32(out, a.oid)
	}
	for _, n := range [...]uint32{1, maybeNull, a.oid, uint32(len(a.values)), 1} { //nolint:gosec // G115: events of one transaction
		out = binary.BigEndian.AppendUint32(out, n)
	}
	for _, v := range a.values {
		at := len(out)
		grown, absent := a.put(append(out, 0, 0, 0, 0), v)
		length := uint32(len(grown) - at - 4) //nolint:gosec // G115: bodies are bounded
		if absent {
			length = null
		}
		out = grown
		binary.BigEndian.PutUint32(out[at:], length)
	}
	return out
}

// newArray makes an empty one with room for n elements.
func newArray[T any](oid uint32, n int, put func([]byte, T) ([]byte, bool)) array[T] {
	return array[T]{oid: oid, put: put, values: make([]T, 0, n)}
}

func texts(n int) array[string] {
	return newArray(pgtype.TextOID, n, func(out []byte, v string) ([]byte, bool) { return append(out, v...), false })
}

func rawTexts(n int) array[[]byte] {
	return newArray(pgtype.TextOID, n, func(out, v []byte) ([]byte, bool) { return append(out, v...), false })
}

func textsOrNull(n int) array[*string] {
	return newArray(pgtype.TextOID, n, func(out []byte, v *string) ([]byte, bool) { return append(out, deref(v)...), v == nil })
}

func bigints(n int) array[int64] {
	return newArray(pgtype.Int8OID, n, func(out []byte, v int64) ([]byte, bool) {
		return binary.BigEndian.AppendUint64(out, uint64(v)), false //nolint:gosec // G115: the same bits
	})
}

func booleans(n int) array[bool] {
	return newArray(pgtype.BoolOID, n, func(out []byte, v bool) ([]byte, bool) {
		if v {
			return append(out, 1), false
		}
		return append(out, 0), false
	})
}

func dates(n int) array[time.Time] {
	return newArray(pgtype.DateOID, n, func(out []byte, v time.Time) ([]byte, bool) {
		const day, first = 24 * 60 * 60, 946_684_800                                          // of 2000, by the clock of Unix
		return binary.BigEndian.AppendUint32(out, uint32(int32((v.Unix()-first)/day))), false //nolint:gosec // G115: the same bits
	})
}

func floatsOrNull(n int) array[*float64] {
	return newArray(pgtype.Float8OID, n, func(out []byte, v *float64) ([]byte, bool) {
		if v == nil {
			return out, true
		}
		return binary.BigEndian.AppendUint64(out, math.Float64bits(*v)), false
	})
}

// knowArrays lets a connection take arrays as they are.
func knowArrays(conn *pgx.Conn) {
	types := conn.TypeMap()
	for _, oid := range []uint32{
		pgtype.TextArrayOID, pgtype.Int8ArrayOID, pgtype.BoolArrayOID, pgtype.DateArrayOID, pgtype.Float8ArrayOID,
	} {
		if known, ok := types.TypeForOID(oid); ok {
			types.RegisterType(&pgtype.Type{Name: known.Name, OID: oid, Codec: arrayCodec{known.Codec}})
		}
	}
}

// arrayCodec is pgx's own, for all but [array].
type arrayCodec struct{ pgtype.Codec }

// PlanEncode implements [pgtype.Codec].
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, own := value.(appender); own && format == pgtype.BinaryFormatCode {
		return arrayPlan{}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type appender interface{ appendTo(out []byte) []byte }

type arrayPlan struct{}

// Encode implements [pgtype.EncodePlan].
func (arrayPlan) Encode(value any, out []byte) ([]byte, error) {
	own, _ := value.(appender) // PlanEncode has looked
	return own.appendTo(out), nil
}
