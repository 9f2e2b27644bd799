mono.schedule @p target("gfx950") grid(1 x 64) {
  %S = mono.param "S" in [1 to 8]
}
