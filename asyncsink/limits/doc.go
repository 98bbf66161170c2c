// Package limits holds the bounds that a writer keeps, each in a unit of its
// own: a count of entries is not a number of bytes, and the compiler says so.
//
// Every struct is plain and its zero value is useful: a zero field means the
// default that its comment states. [Batch.WithDefaults] and its siblings fill
// those in; Validate then reports every fault at once, each as a [*Fault] that
// names the field, the value and the bound.
package limits
