package task

import "time"

// Millis is a number of milliseconds that an agent tells, as a duration: never below zero, and at most a year, so that
// neither it nor a sum with it overflows.
func Millis(n float64) time.Duration {
	const year = 365 * 24 * time.Hour
	return time.Duration(min(max(n, 0), float64(year.Milliseconds())) * float64(time.Millisecond))
}
