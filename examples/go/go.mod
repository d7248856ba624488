module holdfast-example

go 1.18
