GIRLS = "Anna Mia Lucy Nora Ella Rosa Ida Clara Emma Lena Maya Ruth Tara Vera Zoe".split()
BOYS = "Ben Tom Max Leo Sam Paul Oscar Felix Jack Hugo Adam Noah Ivan Karl Tim".split()
PEOPLE = GIRLS + BOYS
HE = set(BOYS)
